// SPDX-License-Identifier: BSD-3-Clause
// json.hpp - JSON as programs write and read it.
//
// Idea     A value of our own, whose members stay in the order in which they were written. What is
//          printed and parsed goes through the JSON library, in json.cpp alone.
// Why      The library's templates cost each file that includes them one to three seconds of
//          compile time, half a second of it even where nothing is used.
// Holds    {{"name", value}, ...} is an object, {value, ...} an array. What is not there reads as
//          null, at() throws.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::lab {

class Json {
  public:
    enum class Kind : std::uint8_t {
        null,
        boolean,
        integer,
        natural,  ///< an integer without a sign
        number,
        string,
        array,
        object,
        discarded,  ///< what was read is no JSON
    };

    Json(std::nullptr_t = nullptr) {}
    template <std::same_as<bool> T>
    Json(T value) : kind_(Kind::boolean), natural_(value ? 1 : 0) {}
    template <std::signed_integral T>
    Json(T value) : kind_(Kind::integer), integer_(value) {}
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) Json(T value) : kind_(Kind::natural), natural_(value) {}
    template <std::floating_point T>
    Json(T value) : kind_(Kind::number), number_(value) {}
    Json(std::string value) : kind_(Kind::string), text_(std::move(value)) {}
    Json(std::string_view value) : Json(std::string(value)) {}
    Json(const char* value) : Json(std::string(value)) {}
    template <class T>
    Json(const std::vector<T>& values) : kind_(Kind::array), parts_(values.begin(), values.end()) {}
    template <class T>
    Json(const std::map<std::string, T>& values) : kind_(Kind::object) {
        for (const auto& [name, value] : values) (*this)[name] = value;
    }
    /// An object if all are arrays of a name and a value, else an array.
    Json(std::initializer_list<Json> parts);

    [[nodiscard]] static Json array() { return Json(Kind::array); }
    [[nodiscard]] static Json object() { return Json(Kind::object); }
    [[nodiscard]] static Json discarded() { return Json(Kind::discarded); }

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
    [[nodiscard]] bool is_boolean() const { return kind_ == Kind::boolean; }
    [[nodiscard]] bool is_number() const {
        return kind_ == Kind::integer || kind_ == Kind::natural || kind_ == Kind::number;
    }
    [[nodiscard]] bool is_number_unsigned() const { return kind_ == Kind::natural; }
    [[nodiscard]] bool is_number_float() const { return kind_ == Kind::number; }
    [[nodiscard]] bool is_string() const { return kind_ == Kind::string; }
    [[nodiscard]] bool is_array() const { return kind_ == Kind::array; }
    [[nodiscard]] bool is_object() const { return kind_ == Kind::object; }
    [[nodiscard]] bool is_discarded() const { return kind_ == Kind::discarded; }

    /// A string, bool or number; throws if it is another kind of value.
    template <class T>
    [[nodiscard]] T get() const {
        if constexpr (std::same_as<T, std::string>)
            return text();
        else if constexpr (std::same_as<T, bool>)
            return truth();
        else if (kind_ == Kind::integer)
            return static_cast<T>(integer_);
        else if (kind_ == Kind::natural)
            return static_cast<T>(natural_);
        else
            return static_cast<T>(number());
    }

    // Parts: the elements of an array, the values of an object.

    [[nodiscard]] std::size_t size() const { return parts_.size(); }
    [[nodiscard]] bool empty() const { return parts_.empty(); }
    [[nodiscard]] auto begin() const { return parts_.begin(); }
    [[nodiscard]] auto end() const { return parts_.end(); }
    [[nodiscard]] auto begin() { return parts_.begin(); }
    [[nodiscard]] auto end() { return parts_.end(); }
    [[nodiscard]] const Json& front() const { return parts_.front(); }
    [[nodiscard]] const Json& back() const { return parts_.back(); }
    [[nodiscard]] Json& back() { return parts_.back(); }
    [[nodiscard]] const Json& operator[](std::size_t index) const { return parts_[index]; }
    [[nodiscard]] Json& operator[](std::size_t index) { return parts_[index]; }
    [[nodiscard]] const Json& at(std::size_t index) const { return parts_.at(index); }
    /// Null becomes an array.
    void push_back(Json value);

    /// Null becomes an object; a member that is not there is added.
    [[nodiscard]] Json& operator[](std::string_view name);
    [[nodiscard]] const Json& operator[](std::string_view name) const;
    [[nodiscard]] const Json& at(std::string_view name) const;
    [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
    template <class T>
    [[nodiscard]] T value(std::string_view name, T otherwise) const {
        const Json* const found = find(name);
        return found == nullptr ? otherwise : found->get<T>();
    }
    [[nodiscard]] std::string value(std::string_view name, const char* otherwise) const {
        return value(name, std::string(otherwise));
    }
    void erase(std::string_view name);
    /// Takes all members of another object.
    void update(const Json& other);
    /// Names and values of an object.
    [[nodiscard]] std::vector<std::pair<const std::string&, const Json&>> items() const;

    /// On one line, or each value on a line of its own.
    [[nodiscard]] std::string dump(int indent = -1) const;

    /// Numbers are equal by value, objects if their members are, in the same order.
    friend bool operator==(const Json& a, const Json& b);
    /// Of numbers; anything else is unordered.
    friend std::partial_ordering operator<=>(const Json& a, const Json& b);
    friend std::ostream& operator<<(std::ostream& out, const Json& value);

  private:
    explicit Json(Kind kind) : kind_(kind) {}
    [[nodiscard]] const Json* find(std::string_view name) const;
    [[nodiscard]] const std::string& text() const;
    [[nodiscard]] bool truth() const;
    [[nodiscard]] double number() const;

    Kind kind_ = Kind::null;
    union {
        std::int64_t integer_;
        std::uint64_t natural_ = 0;
        double number_;
    };
    std::string text_;
    std::vector<std::string> names_;  ///< of an object's parts
    std::vector<Json> parts_;
};

/// For GoogleTest, which would print it as a list.
void PrintTo(const Json& value, std::ostream* out);

/// The characters of a string, anything else as it stands in a line of JSON.
[[nodiscard]] std::string json_text(const Json& value);
/// Prints the value on a line of stdout.
void print_json(const Json& value);
/// Value of the text; is_discarded() if the text is no JSON.
[[nodiscard]] Json read_json(const std::string& text);

}  // namespace weft::lab
